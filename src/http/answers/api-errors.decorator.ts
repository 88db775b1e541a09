import { SetMetadata, type CustomDecorator } from '@nestjs/common';
import type { AnyErrorCode } from '../../errors/module-error-code';

export const API_ERRORS = 'http:api-errors';

/**
 * Documents the errors of a route, or of every route of a controller, beyond those that every route has (its key, its
 * input, the rate limit, our own).
 */
export const ApiErrors = (...codes: readonly AnyErrorCode[]): CustomDecorator => SetMetadata(API_ERRORS, codes);
