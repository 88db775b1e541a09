import { addAbortSignal, type Readable } from 'node:stream';
import { Injectable, Logger, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, type HeadersObject, type SchemaObject } from '@nestjs/swagger';
import type { Response } from 'express';
import { unavailable } from '../../core/errors/domain-error';
import { Gates } from '../gates';
import type { ServiceRequest } from '../request/service-request';
import { countedClient } from '../../core/values/ip-address';
import { ShutdownGuard } from '../server/shutdown';

const logger = new Logger('Export');

/** The receiver of a stream, with a signal that is aborted when it leaves. */
export interface Receiver {
  /** Address of the client. */
  readonly address: string | null;
  readonly signal: AbortSignal;
}

/** Long responses, sent as they are read: few at a time, even if their clients are slow. */
@Injectable()
export class StreamedResponses {
  constructor(
    private readonly shutdown: ShutdownGuard,
    private readonly gates: Gates,
  ) {}

  /**
   * Opens a stream. It ends, and its place is released, when the client leaves or the service stops.
   * @param prepare opens the stream; its errors become the response, and later faults cut the response short
   * @throws UNAVAILABLE if too many streams, or too many of one client, are running
   */
  async open<Opened extends { readonly stream: Readable }>(
    { address, signal }: Receiver,
    prepare: () => Promise<Opened>,
  ): Promise<Opened> {
    const pass = await this.gates.get('exports').enter(countedClient(address ?? ''));
    try {
      const opened = await prepare();
      // Nobody listens to the stream yet: if the signal were already aborted, the stream's error would end the process.
      if (signal.aborted || this.shutdown.isClosed)
        throw unavailable('The service is stopping, or the client has left.');
      for (const end of [signal, this.shutdown.signal]) addAbortSignal(end, opened.stream);
      // The stream closes when everything was sent, when it fails, and when the client leaves or the service stops.
      opened.stream.once('close', () => pass.leave());
      return opened;
    } catch (error) {
      pass.leave();
      throw error;
    }
  }
}

/**
 * Sends a stream as it arrives. A failure resets the connection, so that no client takes a part for the whole: a
 * response over HTTP/1.0, which some proxies request, ends with its connection.
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
 * Documents a response of lines of JSON. As a whole it is not JSON, so its schema is that of a file; the schema of a
 * line is in the description.
 */
export function ApiNdjson(line: SchemaObject, headers: HeadersObject): MethodDecorator {
  return ApiOkResponse({
    description: `Lines of JSON. The schema of each:\n\n\`\`\`json\n${JSON.stringify(line, null, 2)}\n\`\`\``,
    headers: { ...headers },
    content: { [NDJSON]: { schema: { type: 'string', format: 'binary' } } },
  });
}
