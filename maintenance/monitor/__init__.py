"""Checks over metadata: does a table need work, and is it healthy?"""
