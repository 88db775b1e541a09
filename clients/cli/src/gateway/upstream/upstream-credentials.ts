import type { Credential } from '../file/gateway-config.js';
import { type CurrentRedactor, Redactor } from '../response/redactor.js';
import type { SecretStore } from '../secrets/secret-store.js';
import { buildCredentials, credentialForms, secretForms, type SentCredentials } from './credentials.js';

/** The credentials of a request, and what replaces them in its answer. */
export interface CredentialSnapshot {
  readonly sent: SentCredentials;
  /** Replaces what the request sent, and what the secrets have become since. */
  readonly redactor: CurrentRedactor;
}

/** The credentials that are made of the secrets at one version. */
interface Reading {
  readonly version: number;
  readonly sent: SentCredentials;
  /** The texts that answers must not show. */
  readonly forms: readonly string[];
  readonly redactor: Redactor;
}

/** The credentials of one upstream, as their secrets are now. */
export class UpstreamCredentials {
  private reading: Reading | null = null;

  constructor(
    private readonly credentials: readonly Credential[],
    private readonly store: SecretStore,
  ) {}

  /** Read once for each request: it sends one value of a secret, even if that changes meanwhile. */
  current(): CredentialSnapshot {
    const reading = this.read();
    return { sent: reading.sent, redactor: this.redactorFrom(reading) };
  }

  private read(): Reading {
    const { store, credentials } = this;
    const { version } = store;
    if (this.reading?.version !== version) {
      const own = credentialForms(credentials, (source) => store.recentValues(source));
      const forms = [...new Set([...own, ...secretForms(store.otherValues())])];
      const sent = buildCredentials(credentials, (source) => store.value(source));
      this.reading = { version, sent, forms, redactor: new Redactor(forms) };
    }
    return this.reading;
  }

  /** The answer to a request may show what other requests send later, for example in an event stream. */
  private redactorFrom(first: Reading): CurrentRedactor {
    let { version, redactor } = first;
    return () => {
      const latest = this.read();
      if (version !== latest.version) {
        ({ version } = latest);
        redactor = new Redactor([...new Set([...first.forms, ...latest.forms])]);
      }
      return redactor;
    };
  }
}
