import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Response } from 'express';
import type { Server, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { OVER, TURN } from '../server/http-server';
import type { ServiceRequest } from '../request/service-request';
import { LOG } from './log';

/**
 * Longest path in characters that is logged: paths of the service are shorter, and searching a long one for keys takes
 * long.
 */
const MAX_PATH_CHARACTERS = 1024;

/** Writes one line for each request, when it is over. */
@Injectable()
export class RequestLog implements OnModuleInit {
  constructor(
    @Inject(LOG) private readonly log: Logger,
    private readonly host: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    const server = this.host.httpAdapter.getHttpServer() as Server;
    server.prependListener(TURN, (request: ServiceRequest, response: ServerResponse) => {
      // Without a listener, an answer that cannot be written would end the process.
      response.on('error', (err) => this.log.error({ requestId: request.id, err }, 'The answer could not be written'));
    });
    server.on(OVER, (request: ServiceRequest, response: Response, duration: number) =>
      this.write(request, response, Math.round(duration)),
    );
  }

  private write(request: ServiceRequest, response: Response, durationMs: number): void {
    const line = lineOf(request, response, durationMs);
    const isWhole = response.writableEnded && !request.readableAborted;
    // A 503 is intended: the service is stopping, full, or waits for its database, which it logs separately.
    if (response.statusCode === 503) this.log.warn(line, 'request refused');
    // The exception filter has logged the error itself, under the same request id.
    else if (response.statusCode >= 500) this.log.error(line, 'request failed');
    else this.log.info(line, isWhole ? 'request completed' : 'request aborted');
  }
}

/** Returns the members of the line: no headers, and the URL without its query. */
function lineOf(request: ServiceRequest, response: Response, durationMs: number): object {
  const [path = ''] = request.originalUrl.split('?', 1);
  const { traceId } = request;
  return {
    requestId: request.id,
    method: request.method,
    route: request.template ?? null,
    path: path.length > MAX_PATH_CHARACTERS ? null : path,
    // Null if the client left before it was answered.
    status: response.headersSent ? response.statusCode : null,
    durationMs,
    ip: request.address,
    ...(traceId !== null && { traceId }),
  };
}
