import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { AgentCache } from '../agents/agents.service';
import type { Agent } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import { callerRefused, type DomainError, unauthorized } from '../../core/errors/domain-error';
import { IssuedTokens, type TokenUse } from '../../http/authentication/authentication';
import { expandScopes, type Identity, type Scope } from '../../ledger/kinds/caller';
import { subjectOf, subjectText, textsOf } from '../policies/patterns/subjects';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { KeySet } from './token-key';
import { claimsFault, isOver, readToken, signingKey, type TokenHolder, tokenHolder } from './token';
import { issuersIn, type TokenIssuer } from './token-issuer';

/** Milliseconds between checks whether keys are due. */
const INTERVAL_MS = 60_000;
/** Most tokens remembered. */
const MAX_VERIFIED = 10_000;

/** Scopes that a token for a gateway can have. */
const GATEWAY_SCOPES: readonly Scope[] = ['execute'];

interface KnownIssuer {
  readonly issuer: TokenIssuer;
  /** Agents for whom it may speak, as subjects of policies. */
  readonly agents: ReadonlySet<string>;
  /** People that it may name as principals, as subjects of policies. */
  readonly people: ReadonlySet<string>;
  readonly keys: KeySet;
}

/** A token that was valid when it was verified. */
interface VerifiedToken {
  readonly holder: TokenHolder;
  readonly trustedIssuer: KnownIssuer;
  /** Thumbprint of the key that signed it. */
  readonly thumbprint: string;
}

/** Identifies the holders of tokens from issuers that the operator trusts. */
@Injectable()
export class TokenHolders extends IssuedTokens implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Tokens');
  private readonly issuers: ReadonlyMap<string, KnownIssuer>;
  /** Verified tokens by digest, in order of arrival. */
  private readonly verified = new Map<string, VerifiedToken>();
  /** Monotonic milliseconds of the last log line about a refused token, by issuer. */
  private readonly loggedAt = new Map<string, number>();
  private readonly repeated = new PeriodicTask(
    INTERVAL_MS,
    () => this.refresh(),
    (error) => this.logger.error(`The keys of issuers cannot be fetched: ${String(error)}`),
  );

  constructor(
    { tokenIssuers }: Configuration,
    private readonly agents: AgentCache,
  ) {
    super();
    this.issuers = new Map(issuersIn(tokenIssuers).map((issuer) => [issuer.issuer, this.withKeys(issuer)]));
  }

  onApplicationBootstrap(): void {
    if (this.issuers.size === 0) return;
    void this.refresh();
    this.repeated.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.repeated.stop();
  }

  isVerified(digest: Buffer): boolean {
    return this.verified.has(digest.toString('base64'));
  }

  async holderOf(text: string, digest: Buffer, use: TokenUse): Promise<Identity | null> {
    const name = digest.toString('base64');
    const before = this.verified.get(name);
    const isListed = before?.trustedIssuer.keys.lists(before.thumbprint) === true;
    const verified = isListed ? before : await this.verify(text);
    if (!isListed) this.remember(name, verified);
    if (verified === null || isOver(verified.holder.expiresAt, Date.now())) return null;
    const { gatewayAudiences } = verified.holder;
    if (gatewayAudiences.length === 0) return this.identityOf(verified);
    const gatewayAudience = gatewayAudiences.find((audience) => audience === use.gatewayAudience);
    if (gatewayAudience === undefined || !use.takesGatewayTokens) return null;
    const identity = await this.identityOf(verified);
    const scopes = identity.scopes.filter((scope) => GATEWAY_SCOPES.includes(scope));
    return { ...identity, scopes, effectiveScopes: expandScopes(scopes), gatewayAudience };
  }

  /** Verifies a token; null unless it is valid here and now, and a listed key of its issuer has signed it. */
  private async verify(text: string): Promise<VerifiedToken | null> {
    if (this.issuers.size === 0) return null;
    const token = readToken(text);
    const issuer = token.claims?.['iss'];
    const knownIssuer = typeof issuer === 'string' ? this.issuers.get(issuer) : undefined;
    if ('fault' in token) return this.refused(knownIssuer, token.fault);
    if (knownIssuer === undefined) return this.refused(knownIssuer, 'its "iss" is none of TOKEN_ISSUERS');
    const now = Date.now();
    const holder = tokenHolder(token.claims, knownIssuer.issuer, now);
    if (holder === undefined)
      return this.refused(knownIssuer, claimsFault(token.claims, knownIssuer.issuer, now) ?? '');
    const key = signingKey(token, await knownIssuer.keys.keysFor(token.kid));
    if (key === undefined)
      return this.refused(knownIssuer, 'none of the keys of "jwks", or more than one, fits its signature');
    return { holder, trustedIssuer: knownIssuer, thumbprint: key.thumbprint };
  }

  /**
   * Logs why a token is refused, for the person who sets up an issuer: one line a minute and issuer, because strangers
   * could flood the log. Tokens without a known issuer share a line, so that they hide no line about an issuer.
   */
  private refused(issuer: KnownIssuer | undefined, why: string): null {
    const name = issuer === undefined ? 'A token' : `A token of ${issuer.issuer.issuer}`;
    const now = performance.now();
    if (now - (this.loggedAt.get(name) ?? -Infinity) < INTERVAL_MS) return null;
    this.loggedAt.set(name, now);
    this.logger.warn(`${name} was refused: ${why}. Such a line is logged once a minute at most.`);
    return null;
  }

  private remember(name: string, verified: VerifiedToken | null): void {
    this.verified.delete(name);
    if (verified === null) return;
    const [oldest] = this.verified.keys();
    if (this.verified.size >= MAX_VERIFIED && oldest !== undefined) this.verified.delete(oldest);
    this.verified.set(name, verified);
  }

  private async identityOf({ holder, trustedIssuer, thumbprint }: VerifiedToken): Promise<Identity> {
    const { agents, people, keys } = trustedIssuer;
    const current = holder.agent === null ? undefined : await this.agents.watch(holder.agent);
    /** Returns the agent as which the token may act now. */
    const findAgent = (): Agent | undefined => {
      const agent = current?.();
      const mayActAs =
        agents.has('*') || (agent !== undefined && textsOf(subjectOf(agent)).some((text) => agents.has(text)));
      return mayActAs ? agent : undefined;
    };
    const agent = findAgent();
    // Another process may have resumed the agent meanwhile.
    if (agent !== undefined && this.agents.isSuspended(agent.id)) await this.agents.catchUp();
    const refusal = (): DomainError | null => {
      // A request may take long; meanwhile the issuer can withdraw the key, and the agent can lose its role.
      if (isOver(holder.expiresAt, Date.now()) || !keys.lists(thumbprint)) return unauthorized();
      if (agent === undefined || findAgent() === undefined) return callerRefused('agent_unknown');
      return this.agents.isSuspended(agent.id) ? callerRefused('agent_suspended') : null;
    };
    return {
      actor: { type: 'token', id: holder.actorId },
      agentId: agent?.id ?? null,
      principals: { claim: holder.principal, roles: holder.principalRoles, people },
      scopes: holder.scopes,
      effectiveScopes: expandScopes(holder.scopes),
      expiresAt: new Date(holder.expiresAt * 1000).toISOString(),
      refusal,
    };
  }

  private withKeys(issuer: TokenIssuer): KnownIssuer {
    const keys = new KeySet(issuer.jwks, (error) =>
      this.logger.warn(`The keys of ${issuer.issuer} cannot be fetched: ${String(error)}`),
    );
    return {
      issuer,
      agents: new Set(issuer.agents.map(subjectText)),
      people: new Set(issuer.principalAgents?.map(subjectText)),
      keys,
    };
  }

  private async refresh(): Promise<void> {
    await Promise.all([...this.issuers.values()].map(({ keys }) => keys.refresh()));
  }
}
