import { applyDecorators, Logger, StreamableFile, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, getSchemaPath, type HeadersObject } from '@nestjs/swagger';
import type { Readable } from 'node:stream';

const TYPE = 'application/x-ndjson';
const logger = new Logger('Export');

/** Describes an answer of lines of JSON, each of the given class. */
export function ApiLines(line: Type, headers: HeadersObject): MethodDecorator {
  return applyDecorators(
    ApiExtraModels(line),
    ApiOkResponse({
      description: 'Lines of JSON, each as in the schema.',
      headers: { ...headers },
      content: { [TYPE]: { schema: { $ref: getSchemaPath(line) } } },
    }),
  );
}

/** Sends lines as they come. What fails on the way breaks the connection, so that no client takes a part for the whole. */
export function lineStream(lines: Readable): StreamableFile {
  return new StreamableFile(lines, { type: TYPE }).setErrorHandler((error, response) => {
    if (error.name !== 'AbortError') logger.error({ err: error }, 'An answer was broken off.');
    response.destroy?.();
  });
}
