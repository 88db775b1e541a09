import { Body, Controller, Get, Global, Module, Param, Post } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { PIPELINE } from '../../src/app.module';
import { Configuration } from '../../src/config/configuration';
import { ConfigurationModule } from '../../src/config/configuration.module';
import { assemble } from '../../src/create-app';
import { OpenApiModule } from '../../src/openapi/openapi.module';
import { CreateEntityRequest } from '../../src/entities/dto/create-entity.request';
import { EntityResponse } from '../../src/entities/dto/entity.response';
import { AnswersModule } from '../../src/http/answers/answers.module';
import { IssuedKeys } from '../../src/http/authentication/issued-keys';
import { IssuedTokens } from '../../src/http/authentication/issued-tokens';
import { BodyModule } from '../../src/http/body/body.module';
import { Caller } from '../../src/http/pipeline/caller.decorator';
import { RefusalRecord } from '../../src/http/request/refusal-record';
import { Revisioned } from '../../src/http/request/route-marks';
import { FallbackModule } from '../../src/http/fallback/fallback.module';
import { ListsModule } from '../../src/http/lists/lists.module';
import { RateLimitModule } from '../../src/http/rate-limit/rate-limit.module';
import { ShutdownModule } from '../../src/http/shutdown/shutdown.module';
import { LoggingModule } from '../../src/logging/logging.module';
import { SAMPLE_ROW } from './sample-entity';

/** The handlers of the real entities controller, with nothing behind them. */
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

/** The key of the environment is the only one, and it may do everything. */
const NOBODY_ELSE = {
  holderOf: () => null,
  isVerified: () => true,
  note: (_request: unknown, refusal: Error) => refusal,
};

@Global()
@Module({
  providers: [
    { provide: IssuedKeys, useValue: NOBODY_ELSE },
    { provide: IssuedTokens, useValue: NOBODY_ELSE },
  ],
  exports: [IssuedKeys, IssuedTokens],
})
class NobodyElseModule {}

@Module({})
class EmptyPipelineModule {}

/** The application's pipeline as it is, without the ledger and the modules that need it. */
async function main(): Promise<void> {
  const application = await assemble({
    module: EmptyPipelineModule,
    imports: [
      await ConfigurationModule.forRoot(),
      LoggingModule,
      ShutdownModule,
      BodyModule,
      AnswersModule,
      ListsModule,
      RateLimitModule,
      EchoModule,
      RouterModule.register([{ path: 'api/v1', module: EchoModule }]),
      OpenApiModule,
      FallbackModule,
      NobodyElseModule,
    ],
    providers: [...PIPELINE, { provide: RefusalRecord, useValue: NOBODY_ELSE }],
  });
  const { port, host } = application.get(Configuration);
  await application.listen(port, host);
}

void main();
