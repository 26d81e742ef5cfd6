"""Parts of the kinds whose items are records: question-answer pairs and intents."""
