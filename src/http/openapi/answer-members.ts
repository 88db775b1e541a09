import { ApiOperation, ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/** What the API document says of a route: a title, and the rest. */
export function ApiRoute(summary: string, description?: string): MethodDecorator {
  return ApiOperation({ summary, ...(description !== undefined && { description }) });
}

/** A member of an answer. @param more what TypeScript does not know about its type. */
export function ApiMember(description: string, more: ApiPropertyOptions = {}): PropertyDecorator {
  return ApiProperty({ ...more, description });
}

/** A text that can be null. */
export function ApiNullableText(description: string, example: string | null = null): PropertyDecorator {
  return ApiProperty({ type: String, nullable: true, example, description });
}

/** A time that can be null. */
export function ApiNullableTime(description: string): PropertyDecorator {
  return ApiProperty({ type: String, format: 'date-time', nullable: true, example: null, description });
}

/** A whole number, 0 or more. */
export function ApiCount(description: string, { minimum = 0, example = 1 } = {}): PropertyDecorator {
  return ApiProperty({ type: 'integer', minimum, example, description });
}

/** One of the texts, which the document knows under a name. */
export function ApiChoice(
  [enumName, values]: readonly [name: string, values: readonly string[]],
  example: string,
  description: string,
): PropertyDecorator {
  return ApiProperty({ enum: [...values], enumName, example, description });
}

/** One of the texts, or null. */
export function ApiNullableChoice(
  values: readonly string[],
  description: string,
  example: string | null = null,
): PropertyDecorator {
  return ApiProperty({ type: String, enum: [...values, null], nullable: true, example, description });
}
