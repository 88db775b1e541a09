/** The requests that the service's rate limit still allows this address, by its latest responses. */
export class RateLimitLeft {
  private remaining = Infinity;
  /** Unix time in seconds at which the limit is reset. */
  private reset = 0;

  /** Wraps `fetch` to note the headers of each response. */
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

  /** Returns half of the remaining requests; Infinity if the number is not known. */
  half(): number {
    return Date.now() >= this.reset * 1_000 ? Infinity : Math.floor(this.remaining / 2);
  }
}
