"""What is measured of whole programs: starts, races for the last byte, and the worst pair beside a member in trouble."""
GROUPS = []
