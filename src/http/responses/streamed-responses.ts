import { addAbortSignal, type Readable } from 'node:stream';
import { Injectable, Logger, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, type HeadersObject, type SchemaObject } from '@nestjs/swagger';
import type { Response } from 'express';
import { unavailable } from '../../core/errors/domain-error';
import { Gates } from '../gates';
import type { ServiceRequest } from '../request/service-request';
import { countedClient } from '../request/arrival';
import { ShutdownGuard } from '../server/shutdown';

const logger = new Logger('Export');

/** Who receives a stream, and a signal that is aborted when it leaves. */
export interface Receiver {
  /** The address of the client. */
  readonly address: string | null;
  readonly signal: AbortSignal;
}

/** Long answers, sent as they are read: few at a time, however slow their clients are. */
@Injectable()
export class StreamedResponses {
  constructor(
    private readonly shutdown: ShutdownGuard,
    private readonly gates: Gates,
  ) {}

  /**
   * The stream ends, and its place is released, when the client leaves or the service stops.
   * @param prepare what it throws is answered; later faults cut the answer short.
   * @throws UNAVAILABLE when too many streams, or too many of one client, are running.
   */
  async open<Opened extends { readonly stream: Readable }>(
    { address, signal }: Receiver,
    prepare: () => Promise<Opened>,
  ): Promise<Opened> {
    const pass = await this.gates.get('exports').enter(countedClient(address ?? ''));
    try {
      const opened = await prepare();
      // Nobody listens to the stream yet: if the signal is already aborted, the stream's error would end the process.
      if (signal.aborted || this.shutdown.isClosed)
        throw unavailable('The service is stopping, or the client has left.');
      for (const end of [signal, this.shutdown.signal]) addAbortSignal(end, opened.stream);
      // It closes when everything has been sent, when it fails, and when the client leaves or the service stops.
      opened.stream.once('close', () => pass.leave());
      return opened;
    } catch (error) {
      pass.leave();
      throw error;
    }
  }
}

/**
 * Sends a stream as it comes. A failure on the way resets the connection, so that no client takes a part for the whole:
 * an answer over HTTP/1.0, as some proxies request, ends when its connection does.
 */
export function streamedFile(
  stream: Readable,
  { req }: Response,
  headers: { readonly type: string; readonly disposition?: string },
): StreamableFile {
  return new StreamableFile(stream, headers).setErrorHandler((error) => {
    if (error.name !== 'AbortError')
      logger.error({ requestId: (req as ServiceRequest).id, err: error }, 'An answer was cut short.');
    req.socket.resetAndDestroy();
  });
}

export const NDJSON = 'application/x-ndjson';

/**
 * Describes an answer of lines of JSON. As a whole it is not JSON, so its schema is that of a file; the schema of a
 * line is in the description.
 */
export function ApiNdjson(line: SchemaObject, headers: HeadersObject): MethodDecorator {
  return ApiOkResponse({
    description: `Lines of JSON. The schema of each:\n\n\`\`\`json\n${JSON.stringify(line, null, 2)}\n\`\`\``,
    headers: { ...headers },
    content: { [NDJSON]: { schema: { type: 'string', format: 'binary' } } },
  });
}
