import { headerValues } from '../request/arrival';
import { exchangeParameter } from '../request/service-request';

/** The headers in which a gateway describes the forwarded request. */
export interface ForwardedHeaders {
  /** All values of a header, in whatever case its name is. */
  readonly valuesOf: (name: string) => readonly string[];
  /** Whether they come from an address in `TRUST_PROXY`. A number of hops names no address: anybody could have sent them. */
  readonly isTrusted: boolean;
}

/** See {@link ForwardedHeaders}. */
export const GatewayHeaders = exchangeParameter((request): ForwardedHeaders => {
  const { app, socket } = request;
  // Express compiles it from TRUST_PROXY.
  const isProxy = app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const namesProxies = Array.isArray(app.get('trust proxy'));
  return {
    valuesOf: (name) => headerValues(request, name.toLowerCase()),
    isTrusted: namesProxies && socket.remoteAddress !== undefined && isProxy(socket.remoteAddress, 0),
  };
});
