import { applyDecorators, Logger, StreamableFile, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, getSchemaPath, type HeadersObject } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Readable } from 'node:stream';

const TYPE = 'application/x-ndjson';
const logger = new Logger('Export');

/** Describes an answer of lines of JSON, each of one of the given classes. */
export function ApiLines(lines: readonly Type[], headers: HeadersObject): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(...lines),
    ApiOkResponse({
      description: 'Lines of JSON, each as in the schema.',
      headers: { ...headers },
      content: { [TYPE]: { schema: { oneOf: lines.map((line) => ({ $ref: getSchemaPath(line) })) } } },
    }),
  );
}

/**
 * Sends lines as they come. What fails on the way resets the connection, so that no client takes a part for the whole: an
 * answer over HTTP/1.0, such as a proxy asks for, ends as its connection does.
 */
export function lineStream(lines: Readable, { req: { socket } }: Response): StreamableFile {
  return new StreamableFile(lines, { type: TYPE }).setErrorHandler((error) => {
    if (error.name !== 'AbortError') logger.error({ err: error }, 'An answer was broken off.');
    socket.resetAndDestroy();
  });
}
