"""Judgements over metadata: does a table need work?"""
