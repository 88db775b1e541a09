import { Agent, get } from 'node:http';

/**
 * Milliseconds between requests. Each is sent on time, whether or not the previous one is answered, as many clients
 * would send them.
 */
const INTERVAL = 5;

export interface ProbeFigures {
  /** Milliseconds of each request, from the moment at which it was due. */
  readonly latencies: readonly number[];
  /** Requests that were not answered with 200. */
  readonly failed: number;
}

/** Requests the health of a service repeatedly, from its construction until it is stopped. */
export class HealthProbe {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly latencies: Promise<number>[] = [];
  private failed = 0;
  private readonly timer: NodeJS.Timeout;
  private next = performance.now();

  constructor(private readonly url: string) {
    this.timer = setInterval(() => this.send(), INTERVAL);
  }

  async stop(): Promise<ProbeFigures> {
    clearInterval(this.timer);
    const latencies = await Promise.all(this.latencies);
    this.agent.destroy();
    return { latencies, failed: this.failed };
  }

  private send(): void {
    for (const now = performance.now(); this.next <= now; this.next += INTERVAL) {
      this.latencies.push(this.request(this.next));
    }
  }

  private request(start: number): Promise<number> {
    return new Promise((resolve) => {
      const end = (isHealthy: boolean): void => {
        if (!isHealthy) this.failed += 1;
        resolve(performance.now() - start);
      };
      const request = get(`${this.url}/api/v1/health`, { agent: this.agent }, (response) => {
        response.resume().once('end', () => end(response.statusCode === 200));
      });
      request.once('error', () => end(false));
    });
  }
}
