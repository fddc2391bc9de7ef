"""Text of a file to plain data with positions; what is wrong with it is a ScenarioError."""
