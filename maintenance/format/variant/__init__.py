"""VARIANT: values of any shape in one column, as JSON has them but with more types of numbers and moments.

A value is two byte strings. `metadata` lists the names of all fields in it, `value` holds the value with numbers in
place of names. Columns are handled whole: what all values hold one level down is one array of the next step.
Source: Paimon's type VARIANT, the Parquet variant encoding.
"""
