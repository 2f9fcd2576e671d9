//! What stands below the options in `--help`.

pub const PROGRAM: &str = "\
Start here:
  ewca demo              a first look, on data that come with the program
  ewca inspect data.csv  what is in a file, and how to fit it
  ewca fit data.csv      fit a table: samples in rows, features in columns
  ewca fit --help        all options, with examples

Every fit has one parameter besides the number of components. Epsilon says how
far each sample's mass spreads over its neighbours (towards 0 the result is
PCA); perplexity says the same as a number of neighbours.";

pub const FIT: &str = "\
Examples:
  ewca fit data.csv
          two components, everything else by default, results in ewca-out/
  ewca fit data.csv -k 5 --label class --id sample -o results
          five components; the columns 'class' and 'sample' are no features
  ewca fit data.csv -k auto
          as many components as have more variance than chance gives
  ewca fit data.tsv.gz -k 3 --perplexity 20 -v
          each sample spreads over about 20; says where the time went
  ewca fit data.csv -k 5 --label class --report report.html
          and one HTML file to look at
  ewca fit pbmc/ --normalize-total 1e4 --log1p --top-variable 2000 -k 10
          a 10x folder of counts, which stay sparse
  ewca fit cells.h5ad --layer counts --write-anndata cells-ewca.h5ad
          results where scanpy looks for them
  ewca fit big.npy --checkpoint big.state
          if it is cut short: the same with --resume big.state
  zcat data.csv.gz | ewca fit - --epsilon 15 --restarts 10 --seed 1
          from a pipe; the best of eleven attempts

Files written to the output folder:
  scores.csv         one row per sample: id, label (if given), ewca1 .. ewcaK
  loadings.csv       one row per feature: feature, ewca1 .. ewcaK
  model.safetensors  everything, for transform, reconstruct, report and so on
  summary.json       parameters, explained variance, certificate, timings,
                     and the SHA-256 of the other files; it is written last

Files that this program did not write are replaced only with --overwrite, and
inputs never. One run at a time writes to a folder.

Exit codes:
  0    converged
  1    bad input or failed run
  2    wrong usage
  3    results written, but not converged, or collapsed (epsilon too large);
       0 instead with --allow-unconverged
  130  interrupted, best result written (Ctrl-C once; twice quits at once)
  141  the results are written, but nobody reads what is printed";

pub const TRANSFORM: &str = "\
Examples:
  ewca transform ewca-out/model.safetensors new.csv
          scores of new samples as CSV on standard output
  ewca transform ewca-out new.csv --id sample --label class -o new-scores.parquet
          a folder stands for the model in it";

pub const RECONSTRUCT: &str = "\
Examples:
  ewca reconstruct ewca-out ewca-out/scores.csv -o smooth.csv
          the training samples as the components see them
  ewca transform ewca-out new.csv | ewca reconstruct ewca-out -
          new samples, there and back";

pub const NEIGHBOURS: &str = "\
Examples:
  ewca neighbours ewca-out
          the 5 strongest partners of every training sample, as CSV
  ewca neighbours ewca-out -m 20 -o partners.parquet
          more of them, to a file
  ewca neighbours ewca-out new.csv --id sample
          the training samples that new samples spread over";

pub const REPORT: &str = "\
Examples:
  ewca report ewca-out data.csv --label class --id sample -o report.html
          one HTML file of the model in ewca-out/
  ewca report ewca-out data.csv --path --tsne -o report.html
          with a slider along epsilon, and t-SNE as a further view
  ewca report ewca-out data.csv --multiqc ewca_mqc.json
          the embedding for MultiQC as well";

pub const PATH: &str = "\
Examples:
  ewca path data.csv -k 5
          20 epsilons from PCA to just past the collapse
  ewca path data.csv -k 5 --label class --report path.html
          the same as one HTML file, with a slider
  ewca path data.csv -k 5 --label class --epsilons 5:200:20 -o path.csv
          20 epsilons from 5 to 200, each larger by the same factor
  ewca path data.csv -k 5 --perplexities 2,5,10,20,50
          the same as numbers of neighbours";

pub const SELECT: &str = "\
Examples:
  ewca select data.csv --label class -k 4..12
          judge 4 to 12 components, 20 epsilons each
  ewca select data.csv --label class -k 5,8 --epsilons 5:200:20 --seed 1
          the paper's grid
  ewca select data.csv --label class -k auto
          judge 1 to as many as have more variance than chance gives
  ewca select data.csv
          no labels: a rule of thumb";

pub const REPRODUCE: &str = "\
Examples:
  ewca reproduce all -o paper
          all figures on khan2001 and a page, paper/index.html
  ewca reproduce accuracy --splits 400 --seed 1
          one of them, with more splits
  ewca reproduce all --data Breast_GSE45827.csv -o breast
          the paper's other data set, once you have downloaded it
  ewca reproduce accuracy --data cells.csv --label kind --id name -k 2..6
          another table: without --epsilons the grid is 50:5000:20
  ewca reproduce evidence --data target/evidence
          37 more sets, once crates/ewca-paper/evidence/fetch.py has fetched them";

pub const INSPECT: &str = "\
Examples:
  ewca inspect data.csv
  ewca inspect results.mat --variable X
  ewca inspect ewca-out/model.safetensors";

pub const DEMO: &str = "\
Examples:
  ewca demo                results in ewca-out/demo/
  ewca demo -o first       results in first/";

pub const COMPLETIONS: &str = "\
Examples:
  ewca completions bash > ~/.local/share/bash-completion/completions/ewca
  ewca completions zsh > ~/.zfunc/_ewca
  ewca completions fish > ~/.config/fish/completions/ewca.fish";

pub const MAN: &str = "\
Examples:
  ewca man | man -l -
          the page of the program
  ewca man -o ~/.local/share/man/man1
          that and a page for every command, as files";
