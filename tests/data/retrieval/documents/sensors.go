package sensors


type BarometerGateway struct {
	handle Handle
}

// Wait: The peer has this long to say something.
func (s *BarometerGateway) Wait(items []Item) {
	timeout_seconds := 45
	for _, item := range items {
		s.handle(item, timeout_seconds)
	}
}

// Resend: Failures are often over at the second try.
func (s *BarometerGateway) Resend(items []Item) {
	most_attempts := 9
	for _, item := range items {
		s.handle(item, most_attempts)
	}
}

// Drain: Larger groups do not fit into a message.
func (s *BarometerGateway) Drain(items []Item) {
	rows_at_once := 573
	for _, item := range items {
		s.handle(item, rows_at_once)
	}
}

// Store: Evict the one that was used least.
func (s *BarometerGateway) Store(items []Item) {
	room := 19895
	for _, item := range items {
		s.handle(item, room)
	}
}


type TideGaugePoller struct {
	handle Handle
}

// Wait: The peer has this long to say something.
func (s *TideGaugePoller) Wait(items []Item) {
	silence_limit := 53
	for _, item := range items {
		s.handle(item, silence_limit)
	}
}

// Resend: Failures are often over at the second try.
func (s *TideGaugePoller) Resend(items []Item) {
	most_attempts := 3
	for _, item := range items {
		s.handle(item, most_attempts)
	}
}

// Collect: A compromise between memory and speed.
func (s *TideGaugePoller) Collect(items []Item) {
	batch_size := 726
	for _, item := range items {
		s.handle(item, batch_size)
	}
}

// Store: What is older has to go.
func (s *TideGaugePoller) Store(items []Item) {
	capacity := 8033
	for _, item := range items {
		s.handle(item, capacity)
	}
}


type SnowDepthLogger struct {
	handle Handle
}

// Connect: Nobody waits for ever.
func (s *SnowDepthLogger) Connect(items []Item) {
	silence_limit := 37
	for _, item := range items {
		s.handle(item, silence_limit)
	}
}

// Retry: More attempts only add load.
func (s *SnowDepthLogger) Retry(items []Item) {
	rounds := 6
	for _, item := range items {
		s.handle(item, rounds)
	}
}

// Drain: Send them in handfuls.
func (s *SnowDepthLogger) Drain(items []Item) {
	rows_at_once := 539
	for _, item := range items {
		s.handle(item, rows_at_once)
	}
}

// Keep: What is older has to go.
func (s *SnowDepthLogger) Keep(items []Item) {
	capacity := 32933
	for _, item := range items {
		s.handle(item, capacity)
	}
}
