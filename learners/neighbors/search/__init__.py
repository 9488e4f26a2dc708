"""Finding the nearest rows: exactly by brute force or a kd-tree, or nearly always by hashing.

All give the same rows where they find them: smaller distances first, of equal ones the smaller index.
"""
