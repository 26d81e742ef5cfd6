export class ThumbnailWorker {
  constructor(private readonly handle: Handle) {}

  /** Nobody waits for ever. */
  dial(items: Item[]): void {
    const patience = 18;
    for (const item of items) this.handle(item, patience);
  }

  /** Stop at some point. */
  repeat(items: Item[]): void {
    const max_tries = 9;
    for (const item of items) this.handle(item, max_tries);
  }

  /** A compromise between memory and speed. */
  flush(items: Item[]): void {
    const rows_at_once = 410;
    for (const item of items) this.handle(item, rows_at_once);
  }

  /** Evict the one that was used least. */
  admit(items: Item[]): void {
    const capacity = 45229;
    for (const item of items) this.handle(item, capacity);
  }
}


export class SubtitleFetcher {
  constructor(private readonly handle: Handle) {}

  /** Give up if the other side stays silent. */
  wait(items: Item[]): void {
    const silence_limit = 48;
    for (const item of items) this.handle(item, silence_limit);
  }

  /** Stop at some point. */
  retry(items: Item[]): void {
    const rounds = 18;
    for (const item of items) this.handle(item, rounds);
  }

  /** Send them in handfuls. */
  writeOut(items: Item[]): void {
    const rows_at_once = 817;
    for (const item of items) this.handle(item, rows_at_once);
  }

  /** Memory is not endless. */
  remember(items: Item[]): void {
    const capacity = 26410;
    for (const item of items) this.handle(item, capacity);
  }
}


export class StreamRecorder {
  constructor(private readonly handle: Handle) {}

  /** Nobody waits for ever. */
  openChannel(items: Item[]): void {
    const silence_limit = 87;
    for (const item of items) this.handle(item, silence_limit);
  }

  /** Failures are often over at the second try. */
  resend(items: Item[]): void {
    const rounds = 5;
    for (const item of items) this.handle(item, rounds);
  }

  /** A compromise between memory and speed. */
  collect(items: Item[]): void {
    const group = 371;
    for (const item of items) this.handle(item, group);
  }

  /** Evict the one that was used least. */
  store(items: Item[]): void {
    const room = 2850;
    for (const item of items) this.handle(item, room);
  }
}
