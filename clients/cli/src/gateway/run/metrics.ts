import { createServer, type Server } from 'node:http';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Upper bounds in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Numbers that are read when Prometheus asks. */
export interface MetricSources {
  readonly running: () => number;
  readonly unreported: () => number;
}

/** What the gateway counts, for Prometheus. */
export class GatewayMetrics {
  private readonly registry = new Registry();
  private readonly requests: Counter<'upstream' | 'status'>;
  private readonly seconds: Histogram<'upstream'>;

  constructor({ running, unreported }: MetricSources) {
    const registers = [this.registry];
    this.requests = new Counter({
      name: 'gateway_requests_total',
      help: 'Requests by upstream and status of the response.',
      labelNames: ['upstream', 'status'],
      registers,
    });
    this.seconds = new Histogram({
      name: 'gateway_request_duration_seconds',
      help: 'Time from the head of a request to the end of its response.',
      labelNames: ['upstream'],
      buckets: BUCKETS,
      registers,
    });
    new Gauge({
      name: 'gateway_requests_running',
      help: 'Requests that run now.',
      registers,
      collect() {
        this.set(running());
      },
    });
    new Gauge({
      name: 'gateway_reports_waiting',
      help: 'Reports that the service has not taken yet.',
      registers,
      collect() {
        this.set(unreported());
      },
    });
  }

  /** @param upstream null for a request that names none */
  countRequest(upstream: string | null, status: number, milliseconds: number): void {
    const label = upstream ?? '';
    this.requests.inc({ upstream: label, status: String(status) });
    this.seconds.observe({ upstream: label }, milliseconds / 1_000);
  }

  /** A server that answers `/metrics`. */
  createServer(): Server {
    return createServer((request, response) => {
      if (request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      void this.registry.metrics().then((text) => {
        response.writeHead(200, { 'Content-Type': this.registry.contentType }).end(text);
      });
    });
  }
}
