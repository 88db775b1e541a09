import { SetMetadata, type CustomDecorator } from '@nestjs/common';
import type { ErrorCode } from '../../errors/error-codes';

export const API_ERRORS = 'http:api-errors';

/** Documents the errors a route, or every route of a controller, can give beyond those of every route (its key, its input, the rate limit, our own). */
export const ApiErrors = (...codes: readonly ErrorCode[]): CustomDecorator => SetMetadata(API_ERRORS, codes);
