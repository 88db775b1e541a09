import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Response } from 'express';
import type { Server, ServerResponse } from 'node:http';
import { Counter, Histogram } from 'prom-client';
import { TURN } from '../../http/server/http-server';
import { routeTemplate } from '../../http/request/routes';
import type { ServiceRequest } from '../../http/request/service-request';
import { Metrics } from './metrics';

/** Seconds. */
const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const MILLISECONDS = 1000;
/** Stands for all paths that match no route, of which there is no end. */
const NO_ROUTE = 'none';
/** Stands for the status of a request whose client left before it was answered. */
const NOT_ANSWERED = 'none';

type Observe = (seconds: number) => void;

/** How long requests take, by route template; how many keys and how many requests were refused. */
@Injectable()
export class RequestMetrics implements OnModuleInit {
  private readonly durations: Histogram<'method' | 'route' | 'status'>;
  private readonly refusedKeys: Counter;
  private readonly limited: Counter;
  /** By method, route and status: labels are composed once, not for each request. */
  private readonly known = new Map<string, Map<string, Map<number, Observe>>>();

  constructor(
    { registry }: Metrics,
    private readonly host: HttpAdapterHost,
  ) {
    const registers = [registry];
    this.durations = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from a request to the end of its answer, by route template.',
      labelNames: ['method', 'route', 'status'],
      buckets: DURATIONS,
      registers,
    });
    this.refusedKeys = new Counter({
      name: 'governance_refused_keys_total',
      help: 'Requests whose API key was missing or wrong.',
      registers,
    });
    this.limited = new Counter({
      name: 'governance_rate_limited_requests_total',
      help: 'Requests beyond the rate limit of their client.',
      registers,
    });
  }

  onModuleInit(): void {
    const server = this.host.httpAdapter.getHttpServer() as Server;
    // Before Express, so that its part of the work is included in the time.
    server.prependListener(TURN, (request: ServiceRequest, response: ServerResponse) => {
      const began = performance.now();
      response.on('close', () => this.closed(request, response as Response, performance.now() - began));
    });
  }

  private closed(request: ServiceRequest, response: Response, duration: number): void {
    const status = response.headersSent ? response.statusCode : 0;
    this.observerOf(request.method, routeTemplate(request) ?? NO_ROUTE, status)(duration / MILLISECONDS);
    if (status === 401) this.refusedKeys.inc();
    else if (status === 429) this.limited.inc();
  }

  private observerOf(method: string, route: string, status: number): Observe {
    const byRoute = entry(this.known, method, () => new Map<string, Map<number, Observe>>());
    const byStatus = entry(byRoute, route, () => new Map<number, Observe>());
    return entry(byStatus, status, () => {
      const child = this.durations.labels(method, route, status === 0 ? NOT_ANSWERED : String(status));
      return child.observe.bind(child);
    });
  }
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
