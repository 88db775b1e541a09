import { startAuthentication, startRegistration, WebAuthnError } from '@simplewebauthn/browser';
import { base64UrlOf } from '../../../../verifier/bytes.mjs';
import { canonicalJson } from '../../../../verifier/canonical-json.mjs';
import { sha256 } from '../../../../verifier/primitives.mjs';
import { Fault } from '../../api/fault.js';
import type { Decision, GovernanceClient, Passkey, Review } from '../../api/types.js';

/** The answer of a device, in the form that the service accepts. */
type CredentialMembers = Record<string, unknown>;

/**
 * *
 * Returns the content that an approval of a decision signs.
 *
 * @param grant with all its members; null without one
 * @param delegationId undefined if the reviewer approves in their own place
 *
 */
export function approvalOf(
  decision: Decision,
  agentId: string,
  grant: Review['grant'] | null,
  delegationId: string | undefined,
): object {
  const { id: decisionId, executionId, actionHash, title, description, context, riskLevel, change } = decision;
  const verdict = 'approve';
  const place = delegationId === undefined ? {} : { delegationId };
  return executionId === null
    ? { agentId, context, decisionId, description, riskLevel, title, verdict, ...(change && { change }), ...place }
    : { actionHash, agentId, decisionId, ...(grant && { grant }), verdict, ...place };
}

/** Asks the device of a person to sign; null where the person has no passkey for this host. */
export async function signedBy(
  client: GovernanceClient,
  agentId: string,
  content: object,
): Promise<CredentialMembers | null> {
  const passkeys = await passkeysOf(client, agentId);
  const usable = passkeys.filter(isUsable);
  if (usable.length === 0) return null;
  const challenge = base64UrlOf(sha256(canonicalJson(content)));
  const allowCredentials = usable.map(({ credentialId: id }) => ({ id, type: 'public-key' as const }));
  const optionsJSON = { challenge, rpId: location.hostname, allowCredentials, userVerification: 'required' as const };
  return requireCredential(() => startAuthentication({ optionsJSON }));
}

/** True if the browser can use the passkey on this page. */
export function isUsable({ rpId }: Pick<Passkey, 'rpId'>): boolean {
  return rpId === location.hostname;
}

/** Registers a passkey. A passkey that the person already has signs the new one. */
export async function registerPasskey(client: GovernanceClient, agentId: string, name: string): Promise<Passkey> {
  const path = { id: agentId };
  // The service answers with the options that WebAuthn specifies.
  const optionsJSON = (await client.post('/api/v1/agents/{id}/passkeys/options', { path })) as unknown;
  const credential = await requireCredential(() =>
    startRegistration({ optionsJSON } as Parameters<typeof startRegistration>[0]),
  );
  const signature = await signedBy(client, agentId, { agentId, credentialId: credential['id'], verdict: 'register' });
  const body = { credential, name, ...(signature && { signature }) };
  return client.post('/api/v1/agents/{id}/passkeys', { path, body });
}

export async function passkeysOf(client: GovernanceClient, id: string): Promise<readonly Passkey[]> {
  return (await client.get('/api/v1/agents/{id}/passkeys', { path: { id }, query: {} })).data;
}

async function requireCredential(ask: () => Promise<unknown>): Promise<CredentialMembers> {
  try {
    return (await ask()) as CredentialMembers;
  } catch (error) {
    const isKnown = error instanceof WebAuthnError && error.code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED';
    throw isKnown
      ? new Fault('This device has a passkey of yours already.', 'Use another device for another passkey.')
      : new Fault('The device made no signature.', 'Try again, and confirm it on the device that has the passkey.');
  }
}
