//! The protocol against a memory that is one: whatever order messages come in, a line has one writer, loads find what was
//! stored last, and everything comes to an end; and every rule is needed for that.

mod exhaustive;
mod mutations;
mod networks;
mod stress;
mod world;
