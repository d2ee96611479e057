{
  "error": {
    "code": 2,
    "where": "./r",
    "message": "--json and --trace are the same file",
    "hint": "another file to --trace"
  }
}
