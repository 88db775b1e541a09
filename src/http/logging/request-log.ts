import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Response } from 'express';
import type { Server, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Configuration, secretsOf } from '../../core/config/configuration';
import { TURN } from '../server/http-server';
import type { ServiceRequest } from '../request/service-request';
import { maskKeys } from './key-mask';
import { LOG } from './log';

const current = new AsyncLocalStorage<ServiceRequest>();

/** The id of the request being served, for log lines; undefined if there is none. */
export function currentRequestId(): string | undefined {
  return current.getStore()?.id;
}

/** Characters: paths of the service are shorter, and searching a long one for keys takes long. */
const LONGEST_PATH = 1024;

/** Writes one line for each request, when it is over. */
@Injectable()
export class RequestLog implements OnModuleInit {
  private readonly withoutKeys: (line: string) => string;

  constructor(
    @Inject(LOG) private readonly log: Logger,
    private readonly host: HttpAdapterHost,
    configuration: Configuration,
  ) {
    this.withoutKeys = maskKeys(secretsOf(configuration));
  }

  onModuleInit(): void {
    const server = this.host.httpAdapter.getHttpServer() as Server;
    // Before Express, so that its part of the work is included in the time, and its log lines have the request's id.
    server.prependListener(TURN, (request: ServiceRequest, response: ServerResponse) => {
      // From here on, everything started in this turn of the event loop belongs to the request.
      current.enterWith(request);
      this.await(request, response as Response);
    });
  }

  private await(request: ServiceRequest, response: Response): void {
    const began = performance.now();
    // Node emits `close` once, so `once` would only cost more.
    response.on('close', () => this.write(request, response, Math.round(performance.now() - began)));
    // Without a listener, an answer that cannot be written would end the process.
    response.on('error', (err) => this.log.error({ requestId: request.id, err }, 'The answer could not be written'));
  }

  private write(request: ServiceRequest, response: Response, durationMs: number): void {
    const line = this.lineOf(request, response, durationMs);
    const isWhole = response.writableEnded && !request.readableAborted;
    // 503 is an answer that the service means: it is stopping, full, or waits for its database, which it logs itself.
    if (response.statusCode === 503) this.log.warn(line, 'request refused');
    // The exception filter has logged the error itself, under the same request id.
    else if (response.statusCode >= 500) this.log.error(line, 'request failed');
    else this.log.info(line, isWhole ? 'request completed' : 'request aborted');
  }

  /** It contains no headers, and the URL without its query. */
  private lineOf(request: ServiceRequest, response: Response, durationMs: number): object {
    const [path = ''] = request.originalUrl.split('?', 1);
    const { traceId } = request;
    return {
      requestId: request.id,
      method: request.method,
      route: request.template ?? null,
      path: path.length > LONGEST_PATH ? this.beginningOf(path) : path,
      // Null if the client left before it was answered.
      status: response.headersSent ? response.statusCode : null,
      durationMs,
      ip: request.address,
      ...(traceId !== null && { traceId }),
    };
  }

  /** Without keys before it is cut: what is left of one could not be recognised. */
  private beginningOf(path: string): string {
    const masked = JSON.parse(this.withoutKeys(JSON.stringify(path))) as string;
    return masked.length > LONGEST_PATH ? `${masked.slice(0, LONGEST_PATH)}…` : masked;
  }
}
