import { SetMetadata, type CustomDecorator } from '@nestjs/common';

export const API_EXAMPLES = 'docs:api-examples';

/** Examples of a request body by their names, each given by where it differs from the examples of the members. */
export type BodyExamples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Gives a route more than one example of its body. Without it the examples of the body's members make one. */
export const ApiExamples = (examples: BodyExamples): CustomDecorator => SetMetadata(API_EXAMPLES, examples);
