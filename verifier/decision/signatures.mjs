import { base64UrlOf, bytesOfBase64Url, hexOf } from '../bytes.mjs';
import { canonicalJson } from '../canonical-json.mjs';
import { isObject } from '../entry-check.mjs';
import { hasSignedBytes, sha256, sha256Hex } from '../primitives.mjs';
import { quoted, OPERATOR, senderText } from './narration.mjs';

/**
 * Checks the signatures of reviewers' devices: assertions of WebAuthn
 * (https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion), as far as they show who approved what.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 */

const MEMBERS = ['authenticatorData', 'clientDataJSON', 'passkeyId', 'signature'];
/** Flags of authenticator data: somebody touched the device, and it knew who. */
const PRESENT_AND_VERIFIED = 0x05;
const [HASH_BYTES, MIN_BYTES] = [32, 37];
/** Far more than any part of a signature has: a request has 1 MiB at most. */
const MAX_CHARACTERS = 2 ** 20;

/**
 * Finds the signatures in a file that match the keys of their passkeys, for any content: only this check is
 * asynchronous.
 * @param {readonly Json[]} entries
 * @returns {Promise<ReadonlySet<string>>} each in its canonical form
 */
export async function findValidSignatures(entries) {
  /** @type {Map<string, Uint8Array | undefined>} */
  const keys = new Map();
  for (const { action, subjectType, subjectId, state } of entries) {
    const isRegistration = action === 'passkey.registered' && subjectType === 'passkey';
    // A later registration of the same id gives the passkey no other key.
    if (isRegistration && !keys.has(subjectId)) keys.set(subjectId, bytesIn(state?.publicKey));
  }
  /** @type {Map<string, Json>} */
  const signatures = new Map();
  for (const { subjectType, state } of entries) {
    if (subjectType !== 'decision') continue;
    for (const { signature } of reviewsIn(state))
      if (isObject(signature)) signatures.set(canonicalJson(signature), signature);
  }
  /** @type {Set<string>} */
  const valid = new Set();
  for (const [text, { passkeyId, authenticatorData, clientDataJSON, signature }] of signatures) {
    const [key, data, client] = [keys.get(passkeyId), bytesIn(authenticatorData), bytesIn(clientDataJSON)];
    const bytes = bytesIn(signature);
    if (key === undefined || data === undefined || client === undefined || bytes === undefined) continue;
    if (await hasSignedBytes(key, concatenate(data, sha256(client)), bytes)) valid.add(text);
  }
  return valid;
}

/**
 * @param {Json} entry of the review
 * @param {Json} review the last one
 * @param {History} history
 * @param {Report} report
 */
export function recomputeSignature({ state, sequence }, review, history, report) {
  const { approverId, verdict, signature } = review;
  if (verdict !== 'approve' || Object.keys(signature).sort().join() !== MEMBERS.join())
    return report.differ('the review has a signature that this verifier does not know');
  const registration = history.passkey(signature.passkeyId, sequence);
  if (registration === undefined)
    return report.lack(`the file has no entry that registered the passkey ${signature.passkeyId} before`);
  const { state: passkey, audit, timestamp } = registration;
  report.expect('whose passkey signed', passkey.agentId, approverId);
  if (audit.actor.id === OPERATOR)
    report.differ(`the passkey was registered with ${senderText(audit.actor)}; only a key of the person registers one`);
  if (timestamp >= state.createdAt)
    report.note(`The passkey ${signature.passkeyId} was registered at ${timestamp}, after the decision was requested.`);
  if (!history.validSignatures.has(canonicalJson(signature)))
    report.differ('the key of the passkey did not make this signature');
  const client = clientIn(signature);
  const challenge = base64UrlOf(sha256(canonicalJson(signedOf(state, review))));
  report.expect('the operation of the browser', client['type'], 'webauthn.get');
  report.expect('the challenge that was signed', client['challenge'], challenge);
  if (!isOriginOf(client['origin'], passkey.rpId))
    report.differ(`it was signed on ${JSON.stringify(client['origin'])}, which is not the service at ${passkey.rpId}`);
  const data = bytesIn(signature.authenticatorData) ?? new Uint8Array();
  report.expect('for which host it was signed', hexOf(data.subarray(0, HASH_BYTES)), sha256Hex(passkey.rpId));
  const flags = data.length < MIN_BYTES ? 0 : Number(data[HASH_BYTES]);
  if ((flags & PRESENT_AND_VERIFIED) !== PRESENT_AND_VERIFIED)
    report.differ('the device did not verify who touched it');
  report.say(
    `The device with the passkey ${quoted(passkey.name)} (${signature.passkeyId}) verified its user and signed exactly this approval, on ${quoted(client['origin'])}. ` +
      `That passkey was registered for ${approverId} at ${timestamp}, with ${senderText(audit.actor)}.`,
  );
}

/**
 * Returns the members whose hash is the challenge that a device signs for an approval.
 * @param {Json} decision
 * @param {Json} review
 */
function signedOf(
  { id: decisionId, executionId, actionHash, title, description, context, riskLevel, change },
  { approverId: agentId, grant, delegationId },
) {
  const verdict = 'approve';
  const place = delegationId === undefined ? {} : { delegationId };
  if (executionId === undefined)
    return {
      agentId,
      context,
      decisionId,
      description,
      riskLevel,
      title,
      verdict,
      ...(change && { change: signedChange(change) }),
      ...place,
    };
  return { actionHash, agentId, decisionId, verdict, ...(grant && { grant }), ...place };
}

/**
 * Returns a change as it is signed: when it was made is not part of what is approved.
 * @param {Json} change
 * @returns {Json}
 */
function signedChange({ madeAt: _madeAt, ...change }) {
  return change;
}

/**
 * @param {Json} signature
 * @returns {Json}
 */
function clientIn({ clientDataJSON }) {
  try {
    return Object(JSON.parse(new TextDecoder().decode(bytesIn(clientDataJSON))));
  } catch {
    return {};
  }
}

/**
 * @param {unknown} origin
 * @param {string} host
 */
function isOriginOf(origin, host) {
  const [scheme, authority = ''] = String(origin).split('://');
  const isSafe = scheme === 'https' || (scheme === 'http' && host === 'localhost');
  return isSafe && authority.replace(/:\d+$/u, '') === host;
}

/**
 * @param {Uint8Array} first
 * @param {Uint8Array} second
 */
function concatenate(first, second) {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/**
 * Returns the reviews that are objects; another check finds the others.
 * @param {Json | null} state of a decision
 * @returns {Json[]}
 */
function reviewsIn(state) {
  const { reviews } = state ?? {};
  return Array.isArray(reviews) ? reviews.filter(isObject) : [];
}

/** @param {unknown} text base64url */
function bytesIn(text) {
  return typeof text === 'string' && text.length <= MAX_CHARACTERS ? bytesOfBase64Url(text) : undefined;
}
