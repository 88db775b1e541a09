import { Agent, get } from 'node:http';

/** Milliseconds between requests. They are sent on time whether or not the former is answered, as clients do. */
const INTERVAL = 5;

/** Asks for the health of a service again and again, from its making until it is stopped. */
export class HealthProbe {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly latencies: Promise<number>[] = [];
  private readonly timer: NodeJS.Timeout;
  private next = performance.now();

  constructor(private readonly url: string) {
    this.timer = setInterval(() => this.send(), INTERVAL);
  }

  /** Answers the milliseconds each request took, from the moment it was due. */
  async stop(): Promise<number[]> {
    clearInterval(this.timer);
    const latencies = await Promise.all(this.latencies);
    this.agent.destroy();
    return latencies;
  }

  private send(): void {
    for (const now = performance.now(); this.next <= now; this.next += INTERVAL) {
      this.latencies.push(this.request(this.next));
    }
  }

  private request(start: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const request = get(`${this.url}/api/v1/health`, { agent: this.agent }, (response) => {
        response.resume().once('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - start);
          else reject(new Error(`GET /health answered ${response.statusCode}.`));
        });
      });
      request.once('error', reject);
    });
  }
}
