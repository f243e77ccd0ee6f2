"""The endpoints, one file a group, and what all of them share: envelope, errors, access, limits."""
