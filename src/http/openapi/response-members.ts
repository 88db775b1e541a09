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

/** What the API document says of a route: a title, and the rest. */
export function ApiRoute(summary: string, description?: string): MethodDecorator {
  return ApiOperation({ summary, ...(description !== undefined && { description }) });
}

/** The route answers with 200, whatever its method. */
export function Answers(answer: ApiResponseNoStatusOptions): MethodDecorator {
  return applyDecorators(HttpCode(200), ApiOkResponse(answer));
}

/** The route answers with 204. */
export function AnswersNothing(description: string): MethodDecorator {
  return applyDecorators(HttpCode(204), ApiNoContentResponse({ description }));
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

/** Makes an answer of a record. */
export type ResponseMapper<Answer> = (this: void, record: Answer) => Answer;

/** Shows of a record what the class of the answer declares, in that order, and nothing else: it may hold secrets. */
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

/** The members that the class of a response declares, if each shows the column of its name. */
export function shownMembers(response: Type): readonly ShownMember[] {
  const members = membersOfResponses.get(response) ?? membersNamed(declaredIn(response).map(String));
  membersOfResponses.set(response, members);
  return members;
}

function declaredIn<Answer extends object>({ prototype }: Type<Answer>): (keyof Answer)[] {
  const declared = Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, prototype as object) as readonly string[];
  // Swagger writes `:` before each.
  return declared.map((name) => name.slice(1) as keyof Answer & string);
}
