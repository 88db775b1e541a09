import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** Metrics of the process (CPU, memory, event loop, garbage collection): once, however many applications it runs. */
let ofProcess: Registry | null = null;

/** The metrics of this application; whoever measures something registers it here. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  readonly contentType = this.registry.contentType;

  constructor() {
    ofProcess ??= processMetrics();
  }

  /** A number that is read when the metrics are scraped; `NaN` if it cannot be read. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      async collect() {
        this.set(await Promise.resolve(read()).catch(() => NaN));
      },
    });
  }

  /** All metrics in Prometheus' text format. */
  async text(): Promise<string> {
    const texts = await Promise.all([this.registry.metrics(), ofProcess?.metrics() ?? '']);
    return texts.join('\n');
  }
}

function processMetrics(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}
