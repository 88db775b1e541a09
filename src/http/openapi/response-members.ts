import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import {
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiProperty,
  type ApiPropertyOptions,
  type ApiResponseNoStatusOptions,
  DECORATORS,
} from '@nestjs/swagger';
import { membersNamed, type ShownMember } from '../../ledger/records/record-text';

/** Sets the title and description of a route in the API document. */
export function ApiRoute(summary: string, description?: string): MethodDecorator {
  return ApiOperation({ summary, ...(description !== undefined && { description }) });
}

/** Documents a response with status 200, for any method. */
export function Answers(answer: ApiResponseNoStatusOptions): MethodDecorator {
  return applyDecorators(HttpCode(200), ApiOkResponse(answer));
}

/** Documents a response with status 204. */
export function AnswersNothing(description: string): MethodDecorator {
  return applyDecorators(HttpCode(204), ApiNoContentResponse({ description }));
}

/** Documents a member of a response. @param more properties that TypeScript does not know */
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

/** Makes a response of a record. */
export type ResponseMapper<Answer> = (this: void, record: Answer) => Answer;

/**
 * Returns a mapper that shows the members declared by a response class, in their order. It drops all others, which may
 * be secret.
 */
export function responseMapper<Answer extends object>(answer: Type<Answer>): ResponseMapper<Answer> {
  let names: readonly (keyof Answer)[] | null = null;
  return (record) => {
    names ??= declaredIn(answer);
    const members: Partial<Answer> = {};
    for (const name of names) if (record[name] !== undefined) members[name] = record[name];
    return members as Answer;
  };
}

const membersOfResponses = new WeakMap<Type, readonly ShownMember[]>();

/** Returns the members that a response class declares, if each shows the column of its name. */
export function shownMembers(response: Type): readonly ShownMember[] {
  const members = membersOfResponses.get(response) ?? membersNamed(declaredIn(response).map(String));
  membersOfResponses.set(response, members);
  return members;
}

function declaredIn<Answer extends object>({ prototype }: Type<Answer>): (keyof Answer)[] {
  const declared = Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, prototype as object) as readonly string[];
  // Swagger writes `:` before each name.
  return declared.map((name) => name.slice(1) as keyof Answer & string);
}
