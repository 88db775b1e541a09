import { Global, Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module';
import { AgentCache } from '../agents/agents.service';
import { RegisteredAgents } from '../../http/authentication/access-denials';
import { IssuedTokens } from '../../http/authentication/authentication';
import { TokenHolders } from './token-holders';

/**
 * Accepts tokens from issuers that the operator trusts. Global, because authentication, which runs before all modules,
 * needs their holders, and the record of denials needs the agents.
 */
@Global()
@Module({
  imports: [AgentsModule],
  providers: [
    TokenHolders,
    { provide: IssuedTokens, useExisting: TokenHolders },
    { provide: RegisteredAgents, useExisting: AgentCache },
  ],
  exports: [IssuedTokens, RegisteredAgents],
})
export class TokensModule {}
