import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { ConfigurationError } from '../../core/config/read-configuration';
import { issuersIn } from '../../governance/tokens/token-issuer';
import { fetchText } from '../../governance/tokens/token-key';

/** Milliseconds after which an issuer that could not be reached is asked again. */
const RETRY_AFTER = 30_000;

/** Data that the page needs to sign somebody in at the issuer. */
export interface SignInAtIssuer {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
  readonly scope: string;
  readonly redirectUri: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
}

type Settings = Omit<SignInAtIssuer, 'authorizationEndpoint' | 'tokenEndpoint'>;

/** The issuer at which people sign in to the console, according to OpenID Connect Discovery 1.0. */
@Injectable()
export class OidcIssuer {
  private readonly logger = new Logger('Console');
  private readonly settings: Settings | null;
  private pendingSignIn: Promise<SignInAtIssuer | null> | null = null;

  constructor(configuration: Configuration) {
    this.settings = settingsOf(configuration);
  }

  /** The issuer as configured; null if none is. */
  get configured(): string | null {
    return this.settings?.issuer ?? null;
  }

  /** Returns the data for signing in; null if no issuer is configured, or while the issuer cannot be reached. */
  signIn(): Promise<SignInAtIssuer | null> {
    const { settings } = this;
    if (settings === null) return Promise.resolve(null);
    this.pendingSignIn ??= this.discover(settings);
    return this.pendingSignIn;
  }

  private async discover(settings: Settings): Promise<SignInAtIssuer | null> {
    try {
      return { ...settings, ...(await endpointsOf(settings.issuer)) };
    } catch (error) {
      this.logger.error(`Nobody can sign in at ${settings.issuer}: ${String(error)}`);
      setTimeout(() => (this.pendingSignIn = null), RETRY_AFTER).unref();
      return null;
    }
  }
}

/** @throws ConfigurationError if the settings contradict each other. */
function settingsOf({ oidcIssuer, oidcClientId, oidcScope, publicUrl, tokenIssuers }: Configuration): Settings | null {
  if (oidcIssuer === null) return null;
  const issuer = issuersIn(tokenIssuers).find((candidate) => candidate.issuer === oidcIssuer);
  const faults = [
    ...(issuer === undefined ? ['OIDC_ISSUER: it is not an issuer of the file that TOKEN_ISSUERS names'] : []),
    ...(oidcClientId === null ? ['OIDC_CLIENT_ID: got nothing, although OIDC_ISSUER is set'] : []),
    ...(publicUrl === null
      ? ['PUBLIC_URL: got nothing, although OIDC_ISSUER is set: the issuer sends people back to it']
      : []),
  ];
  if (issuer === undefined || oidcClientId === null || publicUrl === null) throw new ConfigurationError(faults);
  return {
    issuer: oidcIssuer,
    audience: issuer.audience,
    clientId: oidcClientId,
    scope: oidcScope,
    redirectUri: `${publicUrl}/console/`,
  };
}

async function endpointsOf(issuer: string): Promise<Pick<SignInAtIssuer, 'authorizationEndpoint' | 'tokenEndpoint'>> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = JSON.parse(await fetchText(url)) as Readonly<Record<string, unknown>>;
  if (document['issuer'] !== issuer) throw new Error(`${url} is of another issuer`);
  return {
    authorizationEndpoint: endpoint(document, 'authorization_endpoint'),
    tokenEndpoint: endpoint(document, 'token_endpoint'),
  };
}

function endpoint(document: Readonly<Record<string, unknown>>, name: string): string {
  const value = document[name];
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error(`The issuer names no ${name}`);
  return url.href;
}
