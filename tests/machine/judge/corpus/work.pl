# For an interpreter: hashes, regular expressions, sorting, exceptions (longjmp).
use strict;
use warnings;

my %count;
for my $i (1 .. 3000) {
	my $word = sprintf("w%03d", $i * 7919 % 251);
	$count{$word}++ if $word =~ /^w(\d)(\d)\d$/ && $1 ne $2;
}
my $died = 0;
for my $i (1 .. 50) {
	eval { die "no\n" if $i % 3; 1 } or $died++;
}
print join(",", map { "$_=$count{$_}" } (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 4]), " $died\n";
