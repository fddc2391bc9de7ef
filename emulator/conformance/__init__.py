"""The contract of a GPU node as checkable rules, for our RTL and for anybody else's."""
