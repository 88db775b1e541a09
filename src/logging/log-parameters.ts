import type { Params } from 'nestjs-pino';
import { type DestinationStream, pino, stdTimeFunctions } from 'pino';
import type { Options } from 'pino-http';
import type { Response } from 'express';
import type { Configuration } from '../config/configuration';
import type { ServiceRequest } from '../http/service-request';
import { serializeError } from './error-serializer';
import { maskKeys } from './key-mask';
import { requestLine } from './request-log';

/** How the service logs: one JSON object a line, one line a request, never a header, a query, a body or a key. */
export function logParameters(configuration: Configuration, stream: DestinationStream): Params {
  const logger = pino(
    {
      level: configuration.logLevel,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: serializeError, error: serializeError, req: unlogged },
      formatters: { level: (level) => ({ level }) },
      hooks: { streamWrite: maskKeys([configuration.apiKey, configuration.apiKeyPrevious]) },
    },
    stream,
  );
  // Behind Express every request is one of the service's.
  return { forRoutes: ['{*path}'], pinoHttp: { ...REQUEST_LOG, logger } as unknown as Options };
}

const REQUEST_LOG: Options<ServiceRequest, Response> = {
  wrapSerializers: false,
  quietReqLogger: true,
  quietResLogger: true,
  customAttributeKeys: { reqId: 'requestId' },
  genReqId: (request) => request.id,
  customLogLevel: (_request, response, error) => (error || response.statusCode >= 500 ? 'error' : 'info'),
  customSuccessObject: requestLine,
  // The exception filter has logged the error itself, under the same request id.
  customErrorObject: requestLine,
  customErrorMessage: () => 'request failed',
};

/** Stands for the request, which pino-http would bind whole to each of its lines. */
function unlogged(): undefined {
  return undefined;
}
