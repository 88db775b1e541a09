import { Logger, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, type HeadersObject, type SchemaObject } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Readable } from 'node:stream';

const TYPE = 'application/x-ndjson';
const logger = new Logger('Export');

/**
 * Describes an answer of lines of JSON. As a whole it is not JSON, so its schema is that of a file; the schema of a
 * line is in the description.
 */
export function ApiNdjson(line: SchemaObject, headers: HeadersObject): MethodDecorator {
  return ApiOkResponse({
    description: `Lines of JSON. The schema of each:\n\n\`\`\`json\n${JSON.stringify(line, null, 2)}\n\`\`\``,
    headers: { ...headers },
    content: { [TYPE]: { schema: { type: 'string', format: 'binary' } } },
  });
}

/**
 * Sends lines as they come. A failure on the way resets the connection, so that no client takes a part for the whole:
 * an answer over HTTP/1.0, as some proxies request, ends when its connection does.
 */
export function ndjsonStream(lines: Readable, { req: { socket } }: Response): StreamableFile {
  return new StreamableFile(lines, { type: TYPE }).setErrorHandler((error) => {
    if (error.name !== 'AbortError') logger.error({ err: error }, 'An answer was cut short.');
    socket.resetAndDestroy();
  });
}
