module legation.dev/bench/conversation

go 1.26.0
