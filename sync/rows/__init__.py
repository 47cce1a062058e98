"""What a status needs of objects that others write: one module a kind, one function `facts` in each.

Rules of these files:
1. A row is a slotted value of a few words; the JSON that it came from is dropped.
2. `facts` takes any JSON object; what has the wrong shape is as if it were not there.
3. What an object says of an earlier generation of itself does not get into a row.
"""
