import { SetMetadata, type CustomDecorator } from '@nestjs/common';

export const API_EXAMPLES = 'docs:api-examples';

/** Named examples of a request body; each lists only where it differs from the examples of the members. */
export type BodyExamples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Gives a route several examples of its body. Without it, the only example is built from those of the members. */
export const ApiExamples = (examples: BodyExamples): CustomDecorator => SetMetadata(API_EXAMPLES, examples);
