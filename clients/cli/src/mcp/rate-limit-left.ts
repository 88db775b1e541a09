/** What the service's rate limit leaves to this address, from the answers that came last. */
export class RateLimitLeft {
  private remaining = Infinity;
  /** Unix time in seconds. */
  private reset = 0;

  /** As `fetch`, and notes what each answer says. */
  watching(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
    return async (url, init) => {
      const answer = await fetch(url, init);
      const [remaining, reset] = ['X-RateLimit-Remaining', 'X-RateLimit-Reset'].map((name) => answer.headers.get(name));
      if (remaining !== null && remaining !== undefined) {
        this.remaining = Number(remaining);
        this.reset = Number(reset);
      }
      return answer;
    };
  }

  /** How many requests are half of those left; none known: any number. */
  half(): number {
    return Date.now() >= this.reset * 1_000 ? Infinity : Math.floor(this.remaining / 2);
  }
}
