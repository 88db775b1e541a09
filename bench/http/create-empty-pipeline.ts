import { Body, Controller, Get, Global, Module, Param, Post } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { PIPELINE } from '../../src/app.module';
import { ConfigurationModule } from '../../src/core/config/configuration.module';
import type { Environment } from '../../src/core/config/variables/variable';
import { assemble } from '../../src/create-app';
import { SecondPersonGuard } from '../../src/governance/changes/second-person.guard';
import { CreateEntityRequest, EntityResponse } from '../../src/governance/entities/dto/entity.dto';
import { IssuedKeys, IssuedTokens } from '../../src/http/authentication/authentication';
import { Caller } from '../../src/http/input/caller.decorator';
import { RegisteredAgents } from '../../src/http/authentication/access-denials';
import { AnyScope, Revisioned } from '../../src/http/request/routes';
import { HttpModule } from '../../src/http/http.module';
import { LoggingModule } from '../../src/http/logging/logging.module';
import { LedgerService } from '../../src/ledger/ledger.service';
import { EntryReader } from '../../src/ledger/reading/entry-reader';
import { SAMPLE_ROW } from './sample-entity';

/** The routes of the entities controller, without services behind them. */
@AnyScope()
@Controller('entities')
class EchoController {
  @Post()
  @Revisioned()
  async create(@Caller() _caller: Caller, @Body() body: CreateEntityRequest): Promise<EntityResponse> {
    const { type, name, properties = {} } = body;
    return EntityResponse.from({ ...SAMPLE_ROW, type, name, properties });
  }

  @Get(':id')
  @Revisioned()
  async get(@Param('id') id: string): Promise<EntityResponse> {
    return EntityResponse.from({ ...SAMPLE_ROW, id });
  }
}

@Module({ controllers: [EchoController] })
class EchoModule {}

/** Issued keys and tokens: there are none. The only key is that of the environment, which may do everything. */
const NOBODY_ELSE = {
  holderOf: () => null,
  isVerified: () => true,
};

@Global()
@Module({
  providers: [
    { provide: IssuedKeys, useValue: NOBODY_ELSE },
    { provide: IssuedTokens, useValue: NOBODY_ELSE },
    // None of these requests waits for an entry.
    { provide: LedgerService, useValue: {} },
    { provide: EntryReader, useValue: {} },
    { provide: RegisteredAgents, useValue: {} },
    { provide: SecondPersonGuard, useValue: { canActivate: () => true } },
  ],
  exports: [EntryReader, IssuedKeys, IssuedTokens, LedgerService, RegisteredAgents, SecondPersonGuard],
})
class NobodyElseModule {}

@Module({})
class EmptyPipelineModule {}

/** Creates the application's pipeline without the ledger and the modules that need it. */
export async function createEmptyPipeline(environment?: Environment): Promise<NestExpressApplication> {
  return assemble({
    module: EmptyPipelineModule,
    imports: [
      await ConfigurationModule.forRoot(environment),
      LoggingModule.to(),
      EchoModule,
      RouterModule.register([{ path: 'api/v1', module: EchoModule }]),
      HttpModule,
      NobodyElseModule,
    ],
    providers: PIPELINE,
  });
}
