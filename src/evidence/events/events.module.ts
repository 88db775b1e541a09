import { Module } from '@nestjs/common';
import { EventsService } from './events.service';
import { LiveEntries } from './live-entries';
import { EventsController } from './events.controller';

@Module({ controllers: [EventsController], providers: [EventsService, LiveEntries], exports: [LiveEntries] })
export class EventsModule {}
