import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { ActiveStops } from './active-stops';
import { StoppingCallers, StopsService } from './stops.service';
import { STOP } from './stop.entity';
import { StopsController } from './stops.controller';

/** Stops agents at once, regardless of policies. */
@Module({
  imports: [LedgerModule.forFeature({ kinds: [STOP] })],
  controllers: [StopsController],
  providers: [StopsService, ActiveStops, StoppingCallers],
  exports: [ActiveStops],
})
export class StopsModule {}
