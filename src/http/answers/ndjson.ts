import { ApiOkResponse, type HeadersObject, type SchemaObject } from '@nestjs/swagger';

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
