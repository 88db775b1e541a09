import { DomainError } from '../../core/errors/domain-error';

export function payloadTooLarge(limit: number): DomainError {
  return new DomainError('PAYLOAD_TOO_LARGE', `A request body may have at most ${limit} bytes.`);
}

export function bodyTooSlow(leastBytes: number, milliseconds: number): DomainError {
  return new DomainError(
    'REQUEST_TIMEOUT',
    `A request body must arrive faster: ${leastBytes} bytes or its end in each ${milliseconds / 1000} seconds.`,
  );
}

export function unsupportedMediaType(message: string): DomainError {
  return new DomainError('UNSUPPORTED_MEDIA_TYPE', message);
}

/** `Accept-Encoding` says what would be accepted, as RFC 9110 asks for with a 415. */
export function unsupportedEncoding(): DomainError {
  return new DomainError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without a Content-Encoding.', {
    headers: { 'Accept-Encoding': 'identity' },
  });
}

export function routeNotFound(): DomainError {
  return new DomainError('NOT_FOUND', 'There is nothing at this path.');
}

export function methodNotAllowed(method: string, allowed: readonly string[]): DomainError {
  const allow = allowed.join(', ');
  return new DomainError('METHOD_NOT_ALLOWED', `This path does not support ${method}; it supports ${allow}.`, {
    headers: { Allow: allow },
  });
}
