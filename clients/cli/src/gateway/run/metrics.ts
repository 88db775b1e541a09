import { createServer, IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { readNoneAfterEnd } from '../../service-rules/last-request.js';
import { ConnectionBound } from '../listener/connection-bound.js';

/** Upper bounds in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Anybody who reaches the address may ask: without a key, and as often as they like. */
const SERVER_OPTIONS = {
  /** Milliseconds a client may take to send its request. */
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 2_000,
} as const;
/** Milliseconds without progress because the client reads nothing. */
const STALLED_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 100;
/** Milliseconds in which all who ask get the same text. */
const MAX_AGE_MS = 100;

/** Numbers that are read when Prometheus asks. */
export interface MetricSources {
  readonly running: () => number;
  readonly unreported: () => number;
}

/** The gateway's counters, for Prometheus. */
export class GatewayMetrics {
  private readonly registry = new Registry();
  private readonly requests: Counter<'upstream' | 'status'>;
  private readonly seconds: Histogram<'upstream'>;
  /** The last text. */
  private shown: { readonly text: Promise<string>; readonly until: number } | null = null;

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

  /** A server that answers `/metrics`, one request on each connection: a packet may have thousands. */
  createServer(): Server {
    const served = new WeakSet<Socket>();
    const take = (request: IncomingMessage, response: ServerResponse): void => {
      if (served.has(request.socket)) {
        request.destroy();
        return;
      }
      served.add(request.socket);
      void this.answer(request, response);
    };
    class MetricsRequest extends IncomingMessage {}
    readNoneAfterEnd(MetricsRequest);
    const server = createServer({ ...SERVER_OPTIONS, IncomingMessage: MetricsRequest }, take);
    // An unknown expectation may be ignored.
    server.on('checkExpectation', take);
    server.setTimeout(STALLED_TIMEOUT_MS);
    ConnectionBound.ofAll(server, () => false, MAX_CONNECTIONS);
    return server;
  }

  private async answer({ url }: IncomingMessage, response: ServerResponse): Promise<void> {
    response.shouldKeepAlive = false;
    if (url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    const text = await this.text();
    response.writeHead(200, { 'Content-Type': this.registry.contentType }).end(text);
  }

  private text(): Promise<string> {
    const now = performance.now();
    if (this.shown === null || now >= this.shown.until)
      this.shown = { text: this.registry.metrics(), until: now + MAX_AGE_MS };
    return this.shown.text;
  }
}
