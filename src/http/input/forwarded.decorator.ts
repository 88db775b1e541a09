import { headerValues } from '../request/arrival';
import { exchangeParameter } from '../request/service-request';

/** The headers in which a gateway describes the forwarded request. */
export interface ForwardedHeaders {
  /** Returns all values of a header; the case of its name does not count. */
  readonly valuesOf: (name: string) => readonly string[];
  /**
   * True if the headers come from an address in `TRUST_PROXY`. A number of hops names no address, so anybody could have
   * sent them.
   */
  readonly isTrusted: boolean;
}

/** Provides the {@link ForwardedHeaders} of a request to a handler's parameter. */
export const GatewayHeaders = exchangeParameter((request): ForwardedHeaders => {
  const { app, socket } = request;
  // Express compiles this function from TRUST_PROXY.
  const isProxy = app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const namesProxies = Array.isArray(app.get('trust proxy'));
  return {
    valuesOf: (name) => headerValues(request, name.toLowerCase()),
    isTrusted: namesProxies && socket.remoteAddress !== undefined && isProxy(socket.remoteAddress, 0),
  };
});
