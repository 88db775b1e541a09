import type { Credential } from '../file/gateway-config.js';
import { Redactor } from '../response/redactor.js';
import type { SecretStore } from '../secrets/secret-store.js';
import { buildCredentials, credentialForms, type SentCredentials } from './credentials.js';

/** The credentials of a request, and what replaces them in its answer. */
export interface CredentialSnapshot {
  readonly sent: SentCredentials;
  readonly redactor: Redactor;
}

/** The credentials of one upstream, as their secrets are now. */
export class UpstreamCredentials {
  private snapshot: CredentialSnapshot | null = null;
  private version = -1;

  constructor(
    private readonly credentials: readonly Credential[],
    private readonly store: SecretStore,
  ) {}

  /** Read once for each request: its answer shows what it sent, even if a secret changes meanwhile. */
  current(): CredentialSnapshot {
    const { store, credentials } = this;
    if (this.snapshot === null || this.version !== store.version) {
      this.version = store.version;
      this.snapshot = {
        sent: buildCredentials(credentials, (source) => store.value(source)),
        redactor: new Redactor(credentialForms(credentials, (source) => store.recentValues(source))),
      };
    }
    return this.snapshot;
  }
}
